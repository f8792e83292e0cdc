"""Programs that play, run beside: UCI engines as opponents on the host."""

from jaxzero.engines.match import EngineMatch, play_match
from jaxzero.engines.uci import Answer, Engines, EngineSettings

__all__ = ["Answer", "EngineMatch", "EngineSettings", "Engines", "play_match"]
