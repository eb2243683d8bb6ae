// A module of its own: importers of the module above do not download this folder.
module docs

go 1.26
