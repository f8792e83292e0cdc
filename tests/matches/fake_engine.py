"""A UCI engine for tests: plays the first legal move, or misbehaves as its arguments say.

python fake.py [die|illegal|hang|flood|line|mute|null|ponder] [EVERY]: misbehaves at every EVERY-th
    position.
python fake.py orthodox|atomic: knows no variant, or another one.
python fake.py told: answers only at level 7 with 300 nodes to depth 4 in a second.
"""

import os
import sys
import time

import chess.variant

how = sys.argv[1] if len(sys.argv) > 1 else ""
every = int(sys.argv[2]) if len(sys.argv) > 2 else 1
board, asked, level = chess.variant.RacingKingsBoard(), 0, ""
told = {"nodes": "300", "depth": "4", "movetime": "1000"}
for line in sys.stdin:
    words = line.split()
    if line.startswith("uci\n") or words == ["uci"]:
        other = "atomic" if how == "atomic" else "racingkings"
        if how != "orthodox":
            print(f"option name UCI_Variant type combo default chess var chess var {other}")
        print("id name fake\noption name Skill Level type spin default 20 min -20 max 20\nuciok",
              flush=True)  # fmt: skip
    elif words[:1] == ["isready"]:
        print("readyok", flush=True)
    elif words[:2] == ["position", "fen"]:
        board = chess.variant.RacingKingsBoard(" ".join(words[2:8]))
        for move in words[9:]:
            board.push_uci(move)
    elif words[:2] == ["position", "startpos"]:
        board = chess.variant.RacingKingsBoard()
    elif words[:4] == ["setoption", "name", "Skill", "Level"]:
        level = words[-1]
    elif words[:1] == ["go"]:
        asked += 1
        as_told = level == "7" and dict(zip(words[1::2], words[2::2], strict=True)) == told
        if how and asked % every == 0:
            if how == "die":
                os._exit(3)
            if how == "hang":
                time.sleep(1000)
            while how in ("flood", "line"):  # of lines, or one without an end
                print("info string", "x" * 1000, end="\n" if how == "flood" else "")
        first = min(m.uci() for m in board.legal_moves)
        answers = {"illegal": "a1a1", "mute": "(none)", "null": "0000"}
        answers["told"] = first if as_told else "0000"
        answers["ponder"] = f"{first} ponder a1a1"
        print("bestmove", answers[how] if how and asked % every == 0 else first, flush=True)
    elif words[:1] == ["quit"]:
        break
