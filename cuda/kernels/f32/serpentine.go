package f32

// Serpentine changes the order of products.
var Serpentine = Prefetch.Then("serpentine", "each product has an operand in common with the one before")
