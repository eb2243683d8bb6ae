package f32

// Rowstores changes the stores of C.
var Rowstores = Interleave.Then("rowstores", "C that is not aligned goes through shared memory, to be stored in rows")
