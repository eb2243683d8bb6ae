//go:build cgo && !windows

package main

import "C"

import (
	"encoding/json"
	"errors"
	"unsafe"

	"gemm"
)

// refusal is what gemm_cuda_recipe returns instead of a recipe.
type refusal struct {
	Error       string `json:"error"`
	Unavailable bool   `json:"unavailable"`
}

// recipeOf answers a request of JSON by JSON.
func recipeOf(request []byte) []byte {
	var q recipeRequest
	err := json.Unmarshal(request, &q)
	var x recipe
	if err == nil {
		x, err = newRecipe(q)
	}
	answer := any(x)
	if err != nil {
		answer = refusal{err.Error(), errors.Is(err, gemm.ErrUnavailable)}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err) // the values are strings, integers and finite numbers
	}
	return text
}

// goCudaRecipe answers a request in memory of C.
//
//export goCudaRecipe
func goCudaRecipe(request *C.char, size C.size_t) *C.char {
	return C.CString(string(recipeOf(unsafe.Slice((*byte)(unsafe.Pointer(request)), int(size)))))
}

// goCudaVariants returns the variants with recipes as JSON, in memory of C.
//
//export goCudaVariants
func goCudaVariants() *C.char {
	text, err := json.Marshal(recipeVariants())
	if err != nil {
		panic(err) // the values are strings
	}
	return C.CString(string(text))
}
