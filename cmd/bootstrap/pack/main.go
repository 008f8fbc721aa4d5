// Command pack makes the archive that AWS Lambda takes: the program, and the
// content of folders beside it.
//
//	pack ARCHIVE PROGRAM [FOLDER...]
package main

import (
	"archive/zip"
	"compress/flate"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: pack ARCHIVE PROGRAM [FOLDER...]")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(archive, program string, folders []string) error {
	out, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer out.Close()
	z := zip.NewWriter(out)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	if err := add(z, "bootstrap", program, 0o755); err != nil {
		return err
	}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			name, err := filepath.Rel(folder, path)
			if err != nil {
				return err
			}
			return add(z, filepath.ToSlash(name), path, 0o644)
		})
		if err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return printSizes(program, archive)
}

// add adds a file. Its time is left out: equal files make equal archives.
func add(z *zip.Writer, name, path string, mode fs.FileMode) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := &zip.FileHeader{Name: name, Method: zip.Deflate}
	h.SetMode(mode)
	w, err := z.CreateHeader(h)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}

// printSizes prints the sizes of files.
func printSizes(files ...string) error {
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		fmt.Printf("%8.2f MiB  %s\n", float64(info.Size())/(1<<20), file)
	}
	return nil
}
