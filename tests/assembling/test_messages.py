"""Reading ptxas's words: the lines below were printed by ptxas 13.0."""

from ptxgen.assembling import Message, annotate
from ptxgen.assembling.messages import Figures, parse_figures, parse_messages

REFUSED = """\
ptxas t/b.ptx, line 12; error   : Arguments mismatch for instruction 'mov'
ptxas t/b, line 4.ptx, line 14; warning : odd, line 3; fatal   : name
ptxas t/b.ptx, line 12; error   : Unknown symbol '%q'
ptxas fatal   : Ptx assembly aborted due to errors
"""
ACCEPTED = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for k
    8 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers, 128 bytes smem, 360 bytes cmem[0]
ptxas info    : Compiling entry function 'l' for 'sm_80'
ptxas info    : Function properties for l
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers, 360 bytes cmem[0]
"""


def test_messages_keep_line_severity_and_text_in_order() -> None:
    assert parse_messages(REFUSED) == (
        Message(12, "error", "Arguments mismatch for instruction 'mov'"),
        Message(14, "warning", "odd, line 3; fatal   : name"),
        Message(12, "error", "Unknown symbol '%q'"),
    )


def test_the_closing_line_is_kept_only_where_nothing_else_was_said() -> None:
    lone = "ptxas fatal   : Ptx assembly aborted due to errors\n"
    assert parse_messages(lone) == (Message(0, "fatal", "Ptx assembly aborted due to errors"),)


def test_a_line_named_only_in_the_text_is_found() -> None:
    said = "ptxas fatal   : Unexpected non-ASCII character encountered on line 14\n"
    assert parse_messages(said)[0].line == 14


def test_information_is_no_message() -> None:
    assert parse_messages(ACCEPTED) == ()


def test_figures_are_taken_over_all_entries() -> None:
    assert parse_figures(ACCEPTED) == Figures(registers=40, spill_bytes=32, shared_bytes=128)


def test_no_report_gives_no_figures() -> None:
    assert parse_figures(REFUSED) == Figures(None, None, None)


def test_a_message_is_drawn_at_its_line_with_two_lines_of_context() -> None:
    ptx = "\n".join(f"\tline{number};" for number in range(1, 12))
    assert annotate(ptx, [Message(9, "error", "no such thing")]) == "\n".join(
        (
            "error: no such thing",
            "   7 |     line7;",
            "   8 |     line8;",
            ">  9 |     line9;",
            "  10 |     line10;",
            "  11 |     line11;",
        )
    )


def test_messages_without_a_line_or_beyond_the_text_stand_alone() -> None:
    said = annotate("only\n", [Message(0, "fatal", "a"), Message(7, "error", "b")])
    assert said == "fatal: a\n\nerror: b"


def test_context_stops_at_the_first_and_last_line() -> None:
    assert annotate("a\nb", [Message(1, "error", "x")]) == "error: x\n> 1 | a\n  2 | b"
