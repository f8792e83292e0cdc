"""Serves the page to this machine alone, and its questions to `Answers`.

Whatever else runs in the browser must not ask: a request has to name this machine as its host, as a
name that someone else let point here would not (DNS rebinding), and to come from the page itself.
"""

import base64
import hashlib
import json
import re
import socket
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from werkzeug.exceptions import HTTPException
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

from jaxzero.play.web.answers import Answers
from jaxzero.play.web.catalogue import Catalogue
from jaxzero.settings.config import ConfigError

HOST = "127.0.0.1"
_LARGEST = 1 << 16  # bytes of a question
_PAGE = Path(__file__).with_name("page.html")
_FILES = {"game.txt": "text/plain", "game.svg": "image/svg+xml", "game.play.svg": "image/svg+xml"}


class Site:
    """The `page`, its HTML, and `answers` to what it asks, as a WSGI application."""

    def __init__(self, catalogue: Catalogue, start: Mapping[str, Any]) -> None:
        """Makes the page.

        `start`: how it begins where its address says nothing: `game`, `moves`, `seats` of the first
        and second player and of the adviser, each a player's `name` and `simulations`, `seed`.
        """
        self.answers = Answers(catalogue)
        setup = json.dumps({"games": catalogue.describe(), "start": start})
        self.page = _PAGE.read_text("utf-8").replace("SETUP", setup.replace("<", "\\u003c"))
        [script] = re.findall("<script>(.*)</script>", self.page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        self._headers = {
            "Content-Security-Policy": f"default-src 'none'; script-src 'sha256-{digest}'; "
            "style-src 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'self' http://localhost:* http://127.0.0.1:*",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
        }

    def __call__(self, environ: Any, start_response: Any) -> Any:
        """Answers one request."""
        request = Request(environ)
        request.max_content_length = _LARGEST
        try:
            response = self._respond(request)
        except HTTPException as error:
            response = _refusal(str(error.description), error.code or 400)
        except ConfigError as error:
            response = _refusal(str(error), 400)
        except RecursionError:
            response = _refusal("send an object that is not nested so deeply", 400)
        except Exception:  # the page reads JSON
            traceback.print_exc()
            response = _refusal("the program failed, its terminal says where", 500)
        response.headers.update(self._headers)
        return response(environ, start_response)

    def _respond(self, request: Request) -> Response:
        port = request.environ["SERVER_PORT"]
        names = (HOST, "localhost")
        hosts = [f"{host}:{port}" for host in names]
        hosts += names if port == "80" else ()  # browsers leave that one out
        origin = request.headers.get("Origin")
        if request.headers.get("Host") not in hosts:
            return _refusal(f"open http://{hosts[0]}/", 403)
        if origin is not None and origin not in [f"http://{host}" for host in hosts]:
            return _refusal("only the page itself may ask", 403)
        name = request.path.removeprefix("/")
        if name and request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            return _refusal("only the page itself may ask", 403)
        if request.method == "GET":
            if not name:
                return Response(self.page, mimetype="text/html")
            if name in _FILES:
                return Response(self.answers.file(name, request.args), mimetype=_FILES[name])
        if request.method != "POST" or name not in self.answers.by_name:
            return _refusal(f"there is no {request.method} {request.path}", 404)
        given = request.get_json()  # refuses what another page can send without asking
        if not isinstance(given, dict):
            return _refusal("send an object", 400)
        return _json(self.answers.by_name[name](given))


def _json(content: Any, status: int = 200) -> Response:
    return Response(json.dumps(content), status, mimetype="application/json")


def _refusal(message: str, status: int) -> Response:
    return _json({"error": message}, status)


class _Quiet(WSGIRequestHandler):
    """Prints no line for each request."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


def bind(site: Site, port: int) -> BaseWSGIServer:
    """A server for this machine alone: its `serve_forever` begins, its `port` is the one it got.

    `port`: 0 for a free one. ConfigError: the port is taken or not allowed.
    """
    try:
        bound = socket.create_server((HOST, port))
    except (OSError, OverflowError) as error:
        raise ConfigError(f"--port={port} can't be had: leave it out for a free one") from error
    with bound:
        served = make_server(
            HOST, port, site, threaded=True, request_handler=_Quiet, fd=bound.fileno()
        )
    return served
