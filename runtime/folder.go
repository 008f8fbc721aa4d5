package runtime

import (
	"fmt"
	"io/fs"
	"os"
)

// Folder returns the files of a folder, of which nothing outside is ever read,
// whatever links lie in it. The folder itself is opened anew for each file: one
// that is replaced, or is a link that is switched, is followed. An error of the
// folder never says that a file doesn't exist.
func Folder(path string) fs.FS { return folder(path) }

type folder string

// Open implements [fs.FS].
func (f folder) Open(name string) (fs.File, error) {
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("its folder can't be opened: %v", err)}
	}
	defer root.Close() // an open file outlives its root
	return root.FS().Open(name)
}
