"""Real PTX: texts that compilers make of our own sources, and what the parser, the table and `check` say of them."""
