"""The cases by topic: each module has `cases()`, which makes inputs and what must come of them."""
