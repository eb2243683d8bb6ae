// A module of its own: importers of the module above do not download this folder.
module results

go 1.26
