"""The page in a cell of a notebook, a Colab's too: a widget that carries its questions to Python.

from jaxzero.play.web.widget import play_page
play_page("pretrained:connect_four_6x7")  # as the last line of a cell
"""

from pathlib import Path
from typing import Any

from jaxzero import runs
from jaxzero.play.display import session
from jaxzero.play.web import begin
from jaxzero.play.web.server import Site
from jaxzero.settings.config import ConfigError

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise ConfigError('a page in a notebook needs anywidget: pip install -e ".[web]"') from error


class PageWidget(anywidget.AnyWidget):
    """A site's page, as HTML, in a cell `height` pixels high. It answers while no cell runs."""

    _esm = Path(__file__).with_name("widget.js")
    page = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int().tag(sync=True)

    def __init__(self, site: Site, height: int) -> None:
        super().__init__(page=site.page, height=height)
        self._answers = site.answers
        self.on_msg(self._answer)

    def _answer(self, _: Any, message: dict[str, Any], buffers: Any) -> None:
        """Sends back what one question asks for, or why it can't be had: no page waits for ever."""
        answer = {"error": "no answer: the notebook shows why"}
        try:
            answer = self._answers.by_name[message["question"]](message["given"])
        except ConfigError as error:
            answer = {"error": str(error)}
        finally:
            self.send({"id": message["id"], "said": answer})


def play_page(
    run: str | Path | None = None,
    *,
    side: int = 0,
    seed: int = 0,
    height: int = 1000,
    **choices: Any,
) -> PageWidget:
    """What `python -m jaxzero.play --web` serves, for a notebook.

    Args:
      run: a run directory, or `pretrained:NAME`; by default the Connect Four player that ships.
      side: yours, 0 or 1.
      seed: of what is random.
      height: of the cell in pixels.
      **choices: `member`, `at`, `simulations`, `game`, `opponent` of `begin.choose`.

    Raises:
      ConfigError: there is no such run, game, player or side.
    """
    session.check_side(side)
    opened = None if run is None else runs.open_run(run)
    catalogue, choice = begin.choose(opened, **choices)
    site = begin.make_site(catalogue, choice, side=side, seed=seed)
    begin.warm_up(site, choice, seed)
    return PageWidget(site, height)
