package f32

// Interleave changes the order of copies.
var Interleave = Serpentine.Then("interleave", "the copies of a slice are spread over the products of another")
