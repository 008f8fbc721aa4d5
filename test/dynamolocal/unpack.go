package dynamolocal

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	// npmPackage contains the emulator, in npmFolder.
	npmPackage = "amplify-dynamodb-simulator"
	version    = "2.9.30"
	npmFolder  = "package/emulator/"
)

// emulator returns the folder with the emulator, and downloads it the first time.
// Several processes may do so at once: the first to finish wins.
func emulator() (folder string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder = filepath.Join(cache, "tidelock", "dynamodb-local-"+version)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return "", err
	}
	own, err := os.MkdirTemp(filepath.Dir(folder), "unpacking-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(own)
	unpacked := filepath.Join(own, "emulator")
	if err := download(own, unpacked); err != nil {
		return "", err
	}
	if err := os.Rename(unpacked, folder); err != nil {
		if _, lost := os.Stat(folder); lost != nil {
			return "", err
		}
	}
	return folder, nil
}

// download downloads the npm package into the folder own and unpacks the emulator.
func download(own, unpacked string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("%w: DynamoDB Local is downloaded with npm once (Debian: apt-get install npm)", err)
	}
	cmd := exec.Command(npm, "pack", "--silent", npmPackage+"@"+version)
	cmd.Dir = own
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm pack %s: %w\n%s", npmPackage, err, text)
	}
	f, err := os.Open(filepath.Join(own, npmPackage+"-"+version+".tgz"))
	if err != nil {
		return err
	}
	defer f.Close()
	return unpack(f, unpacked)
}

// unpack writes the files below npmFolder into the folder to.
func unpack(archive io.Reader, to string) error {
	plain, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	for files := tar.NewReader(plain); ; {
		header, err := files.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		name, wanted := strings.CutPrefix(header.Name, npmFolder)
		if !wanted || header.Typeflag != tar.TypeReg {
			continue
		}
		if !filepath.IsLocal(name) {
			return fmt.Errorf("%s leaves the archive's folder", header.Name)
		}
		if err := write(filepath.Join(to, name), files); err != nil {
			return err
		}
	}
}

func write(path string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
