package runtime

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Folder returns the files of a folder, of which nothing outside is ever read,
// whatever links lie in it. The folder itself is opened anew for each file: one
// that is replaced, or is a link that is switched, is followed. An error of the
// folder never says that a file doesn't exist.
func Folder(path string) fs.FS { return folder(path) }

type folder string

// errNoFile is the error for what lies in a folder and can't be a script.
var errNoFile = fmt.Errorf("%w: it is a pipe, a socket or a device", fs.ErrInvalid)

// Open implements [fs.FS].
func (f folder) Open(name string) (fs.File, error) {
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("its folder can't be opened: %v", err)}
	}
	defer root.Close() // an open file outlives its root
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	// Without O_NONBLOCK a pipe without a writer would keep a thread forever.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: its mode is %v", errNoFile, info.Mode())}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
