module kvdyno-null-go

go 1.24

require kvdyno v0.0.0

replace kvdyno => ../kvdyno
