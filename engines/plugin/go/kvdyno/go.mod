module kvdyno

go 1.24
