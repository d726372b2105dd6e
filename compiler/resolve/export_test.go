package resolve

// Masking are the functions that the expression of a mask may call.
var Masking = masking
