package report

import (
	"os"
	"path/filepath"
	"testing"

	"gemm/compare/report/chapters"
)

func TestAdviceLinksToFilesThatExist(t *testing.T) {
	for _, a := range chapters.Items {
		for _, file := range a.Files {
			if _, err := os.Stat(filepath.Join("..", "..", file)); err != nil {
				t.Errorf("%s: %v", a.ID, err)
			}
		}
	}
}
