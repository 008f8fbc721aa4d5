# One image for Fargate (entry point tidelock) and for Lambda (entry point
# /usr/local/bin/bootstrap). It holds static programs, CA roots and time zones,
# and runs as an unprivileged user. Build an image of your own on top of it that
# copies your scripts and tidelock.yaml to /app.
#
# The build stage runs on the builder's own platform and cross-compiles.
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETARCH
# What the programs answer to "which version": this copy of the files has no history.
ARG VERSION=unknown
ENV LDFLAGS="-s -w -X github.com/tidelock-lua/tidelock/cmd/internal/build.version=${VERSION}"
ENV CGO_ENABLED=0 GOOS=linux GOARCH=${TARGETARCH}
RUN go build -pgo=test/bench/hook.pgo -trimpath -ldflags "$LDFLAGS" -o /out/usr/local/bin/tidelock ./cmd/tidelock
RUN go build -pgo=test/bench/hook.pgo -trimpath -ldflags "$LDFLAGS" -o /out/usr/local/bin/bootstrap ./cmd/bootstrap
RUN mkdir -p /out/app /out/etc/ssl/certs /out/usr/share \
 && cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ \
 && cp -r /usr/share/zoneinfo /out/usr/share/

FROM scratch
COPY --from=build /out/ /
WORKDIR /app
USER 65532:65532
EXPOSE 8080 9090
HEALTHCHECK --interval=10s --timeout=4s --start-period=5s CMD ["/usr/local/bin/tidelock", "healthcheck"]
ENTRYPOINT ["/usr/local/bin/tidelock"]
CMD ["task", "serve"]
