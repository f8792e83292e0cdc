"""One page, served to all tests of a process."""

import threading
from collections.abc import Iterator

import pytest

from jaxzero.play.web.catalogue import Catalogue
from jaxzero.play.web.server import HOST, Site, bind

SHIPS = "pretrained:connect_four_5x5"


@pytest.fixture(scope="session")
def site() -> Site:
    """A page that begins with a small board, a person against a network of 4 simulations."""
    network = {"name": SHIPS, "simulations": 4}
    seats = [{"name": "you"}, network, network]
    start = {"game": "connect_four_5x5", "moves": [], "seats": seats, "seed": 0}
    return Site(Catalogue(game="connect_four_4x5"), start)


@pytest.fixture(scope="session")
def address(site: Site) -> Iterator[str]:
    """Where it is served."""
    server = bind(site, 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://{HOST}:{server.port}/"
    server.shutdown()
    thread.join()
