# SPDX-License-Identifier: Apache-2.0
"""The pages of the desk: every station is an address, every change a form that works without a script."""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from anonkit.desk import column_editor
from anonkit.desk import station_views as views
from anonkit.desk.column_editor import HierarchyGrid, ticked_lines
from anonkit.desk.release_desk import Desk
from anonkit.desk.request_guard import FIELDS, FORM_TOKEN
from anonkit.desk.session_files import EditedPolicy, read_tree, tree_text, write_tree
from anonkit.desk.strip_view import compare_view
from anonkit.errors import AnonkitError, ParameterError
from anonkit.report.charts import safe_text

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_HERE = Path(__file__).parent
_TEMPLATES = _HERE / "templates"
ASSETS = {
    "desk.css": "text/css; charset=utf-8",
    "desk.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
}
_REPORT_STYLE = _HERE.parent / "report" / "templates" / "report.css"
_NEVER = 15.0
"""Seconds after which an open stream says that it is still there."""
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_VIEWS: Mapping[str, Callable[[Desk], dict[str, Any]]] = {
    "table": views.table_view,
    "roles": views.roles_view,
    "promise": views.promise_view,
    "compare": compare_view,
    "decide": views.decide_view,
}


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """A page that is shown at once, of what is typed and not saved."""

    page: str
    view: Mapping[str, Any]


_Changing: TypeAlias = Callable[[Mapping[str, str], "Request"], "str | _Shown"]
"""Makes a change, and says which page shows it."""


class DeskPages:
    """Answers of the desk to requests that its guard has let through.

    Parameters
    ----------
    desk : Desk
    form_token : str
        That every form holds.
    """

    def __init__(self, desk: Desk, form_token: str) -> None:
        self._desk, self._form_token = desk, form_token
        self._version = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._woken = asyncio.Event()
        self._is_ending = False

    def application(self) -> Starlette:
        """Return the pages as an ASGI application."""
        from starlette.applications import Starlette
        from starlette.routing import Route

        def get(path: str, answer: Any) -> Route:
            return Route(path, answer, methods=["GET"])

        def post(path: str, change: _Changing) -> Route:
            async def changed(request: Request) -> Response:
                return await self._change(request, change)

            return Route(path, changed, methods=["POST"])

        return Starlette(
            routes=[
                get("/", self._first),
                *(get(f"/{name}", self._station) for name in views.STATIONS),
                get("/roles/{column:int}", self._column),
                get("/roles/{column:int}/tree.csv", self._tree),
                get("/events", self._events),
                get("/files/{handle:str}", self._file),
                get("/assets/{name:str}", self._asset),
                post("/begin", self._begin),
                post("/look", self._look),
                post("/roles", self._set_roles),
                post("/roles/{column:int}", self._set_column),
                post("/promise", self._set_promise),
                post("/compare/take", self._take),
                post("/compare/sides", self._sides),
                post("/decide/write", self._write),
                post("/start/{kind:str}", self._start),
                post("/cancel/{handle:str}", self._cancel),
                post("/undo", self._undo),
                post("/redo", self._redo),
            ]
        )

    # --- what changes while pages are open ---------------------------------------------------------------------------

    def changed(self) -> None:
        """Let open pages look again; called from any thread."""
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the desk is closing
                loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        with suppress(AnonkitError):  # said where a page asks for it
            self._desk.settle()
        self._version += 1
        self._woken.set()
        self._woken = asyncio.Event()

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Set the loop in which pages are answered."""
        self._loop = loop
        self._woken = asyncio.Event()

    def end(self) -> None:
        """End all open streams."""
        self._is_ending = True
        self._woken.set()

    async def _events(self, request: Request) -> Response:
        from starlette.responses import StreamingResponse

        return StreamingResponse(self._stream(), media_type="text/event-stream")

    async def _stream(self) -> AsyncIterator[str]:
        sent = -1
        while not self._is_ending:
            woken = self._woken
            if sent != self._version:  # also what has changed during the pause
                sent = self._version
                yield f"event: changed\ndata: {sent}\n\n"
                await asyncio.sleep(0.2)  # notes of progress come faster than anybody reads
                continue
            try:
                await asyncio.wait_for(woken.wait(), _NEVER)
            except TimeoutError:
                yield ": still here\n\n"

    # --- pages -------------------------------------------------------------------------------------------------------

    async def _first(self, request: Request) -> Response:
        from starlette.responses import RedirectResponse

        if self._desk.decisions.approach:
            return RedirectResponse("/table", HTTPStatus.SEE_OTHER)
        return self._page("first", {})

    async def _station(self, request: Request) -> Response:
        from starlette.responses import RedirectResponse

        if not self._desk.decisions.approach:
            return RedirectResponse("/", HTTPStatus.SEE_OTHER)
        station = request.url.path.strip("/")
        return await asyncio.to_thread(self._page, station, {})

    async def _column(self, request: Request) -> Response:
        try:
            return self._page("column", column_editor.column_view(self._desk, request.path_params["column"]))
        except AnonkitError as error:
            return self._refused("roles", error)

    async def _tree(self, request: Request) -> Response:
        from starlette.responses import PlainTextResponse

        try:
            text = column_editor.tree_file(self._desk, request.path_params["column"])
        except AnonkitError as error:
            return self._refused("roles", error)
        shown = {"content-disposition": 'attachment; filename="tree.csv"'}
        return PlainTextResponse(text, headers=shown, media_type="text/csv")

    def _page(self, name: str, more: Mapping[str, Any], *, refusal: AnonkitError | None = None) -> Response:
        from starlette.responses import HTMLResponse

        station = {"first": "table", "column": "roles"}.get(name, name)
        view = views.shared_view(self._desk, station) | {"form_token": self._form_token, "field": FORM_TOKEN}
        if name in _VIEWS:
            view |= _VIEWS[name](self._desk)
        message = None if refusal is None else refusal.for_command_line()
        text = _environment().get_template(f"{name}.html.j2").render(**{**view, **more}, refusal=message)
        return HTMLResponse(text, HTTPStatus.OK if refusal is None else HTTPStatus.UNPROCESSABLE_ENTITY)

    def _refused(self, name: str, error: AnonkitError, more: Mapping[str, Any] | None = None) -> Response:
        if not self._desk.decisions.approach:
            name = "first"
        return self._page(name, more or {}, refusal=error)

    async def _asset(self, request: Request) -> Response:
        from starlette.responses import PlainTextResponse
        from starlette.responses import Response as Answer

        name = request.path_params["name"]
        if name == "report.css":
            return Answer(_REPORT_STYLE.read_bytes(), media_type=ASSETS["desk.css"])
        if name not in ASSETS:
            return PlainTextResponse("there is no such page\n", HTTPStatus.NOT_FOUND)
        return Answer((_HERE / "assets" / name).read_bytes(), media_type=ASSETS[name])

    async def _file(self, request: Request) -> Response:
        from starlette.responses import FileResponse, HTMLResponse

        try:
            path = self._desk.file(request.path_params["handle"])
        except AnonkitError as error:
            return self._refused("decide", error)
        if path.suffix != ".html":
            return FileResponse(path, filename=path.name)
        page = path.read_text(encoding="utf-8")
        return HTMLResponse(page, headers={"content-security-policy": _policy_of(page)})

    # --- changes -----------------------------------------------------------------------------------------------------

    async def _change(self, request: Request, change: _Changing) -> Response:
        """Make a change, and go to the page that shows it; a refusal is shown on the page it came from."""
        from starlette.responses import RedirectResponse

        fields: dict[str, str] = {}
        for name, value in request.scope[FIELDS]:
            fields.setdefault(name, value.replace("\r\n", "\n"))
        try:
            to = await asyncio.to_thread(change, fields, request)
        except AnonkitError as error:
            station = fields.get("at", "table")
            if "column" in request.path_params:
                more = column_editor.column_view(self._desk, request.path_params["column"], fields)
                return self._refused("column", error, more)
            return self._refused(station if station in views.STATIONS else "table", error)
        self.changed()
        if not isinstance(to, str):
            return self._page(to.page, to.view)
        return RedirectResponse(to, HTTPStatus.SEE_OTHER)

    def _back(self, fields: Mapping[str, str]) -> str:
        station = fields.get("at", "")
        return f"/{station}" if station in views.STATIONS else "/"

    def _onward(self, fields: Mapping[str, str]) -> str:
        """Return the station that a form leads to: the one that was pressed, else where it is."""
        return self._back({"at": fields["next"]} if fields.get("next") else fields)

    def _begin(self, fields: Mapping[str, str], request: Request) -> str:
        self._desk.begin(fields.get("approach", ""))
        return "/table"

    def _look(self, fields: Mapping[str, str], request: Request) -> str:
        self._desk.look()
        return "/table"

    def _set_roles(self, fields: Mapping[str, str], request: Request) -> str:
        roles = {}
        for name, value in fields.items():
            number = name.removeprefix("role-")
            is_role = name.startswith("role-") and number.isascii() and number.isdigit() and value
            if is_role and fields.get(f"was-{number}") != value:  # what this tab did not change may be another's
                roles[views.column_named(self._desk, int(number))] = value
        before = EditedPolicy.read(self._desk.policy_text).columns()
        changed = {name: role for name, role in roles.items() if _role_of(before.get(name, {})) != role}
        self._desk.set_roles(changed, one_row=bool(fields.get("one-row")))
        return self._onward({"at": "roles", **fields})

    def _set_column(self, fields: Mapping[str, str], request: Request) -> str | _Shown:
        at, do = request.path_params["column"], fields.get("do", "save")
        name = views.column_named(self._desk, at)
        if do != "save":
            return _Shown(page="column", view=self._typed(at, do, fields))
        keys: dict[str, Any] = {
            "bounds": _bounds(fields.get("low", ""), fields.get("high", "")),
            "categories": _lines(fields.get("categories", "")) or None,
            "ladder": _ladder(fields.get("ladder", "")),
            "keep": True if fields.get("keep") else None,
        }
        spec = EditedPolicy.read(self._desk.policy_text).columns().get(name, {})
        tree = fields.get("tree", "").strip()
        rows = read_tree(tree) if tree else column_editor.edited_grid(self._desk, at, fields).rows()
        if not rows:
            keys["tree"] = None
        elif rows != column_editor.edited_grid(self._desk, at, None).rows():
            keys["tree"] = write_tree(self._desk.folder, at, tree_text(rows))
        touched = {key: value for key, value in keys.items() if spec.get(key) != value}
        policy = EditedPolicy.read(self._desk.policy_text).with_domain(name, touched)
        self._desk.set_policy(f"values of column {at + 1}", policy)
        return f"/roles/{at}"

    def _typed(self, at: int, do: str, fields: Mapping[str, str]) -> dict[str, Any]:
        """Return the editor of a column after a step that saves nothing: a preview, a group, a level."""
        grid = column_editor.edited_grid(self._desk, at, fields)
        given_fields = {
            name: value for name, value in fields.items() if not name.startswith(("value-", "group-", "tick-"))
        }
        if do == "group":
            level = fields.get("group-level", "")
            number = int(level) if level.isascii() and level.isdigit() else 0
            grid = grid.grouped(ticked_lines(fields), number, fields.get("group-name", ""))
        elif do == "level":
            grid = grid.with_level()
        elif do == "no-level":
            grid = grid.without_level()
        elif do == "preview":
            if fields.get("tree", "").strip():
                grid = HierarchyGrid.of_rows(read_tree(fields["tree"]))
                given_fields["tree"] = ""
            given_fields |= {name: value for name, value in fields.items() if name.startswith("tick-")}
        else:
            raise ParameterError("there is no such step", "go back to Roles")
        return column_editor.column_view(self._desk, at, {**given_fields, **grid.fields()})

    def _set_promise(self, fields: Mapping[str, str], request: Request) -> str:
        before = self._desk.decisions
        answered = replace(before, receiver=fields.get("receiver", ""), sample=_share(fields.get("sample", "")))
        named = [word.strip() for word in fields.get("recipients", "").split(",") if word.strip()]
        policy = EditedPolicy.read(self._desk.policy_text).with_recipients(named)
        method = fields.get("method", "")
        parameters = {
            name: _number(name, fields[name])
            for name in ("k", "l", "t", "epsilon", "delta")
            if fields.get(name, "").strip()
        }
        if fields.get("by") == "answers" or not method:
            answered = answered.recommended(has_target=self._desk.policy.target is not None)
        elif method != before.method:
            answered = replace(answered, method=method, parameters=_of_method(method, parameters))
        else:
            answered = replace(answered, parameters=parameters)
        self._desk.decide("promise", answered, policy)
        return self._onward({"at": "promise", **fields})

    def _take(self, fields: Mapping[str, str], request: Request) -> str:
        point = self._point(fields.get("point", ""))
        parameters = {point["parameter"]: point["value"]} if point["parameter"] else {}
        taken = replace(self._desk.decisions, method=point["method"], parameters=parameters)
        self._desk.decide(f"took {point['label']}", taken)
        return "/decide"

    def _sides(self, fields: Mapping[str, str], request: Request) -> str:
        points = [self._point(fields.get(name, "")) for name in ("a", "b")]
        candidates = [
            {
                "method": point["method"],
                "parameters": {point["parameter"]: point["value"]} if point["parameter"] else {},
                "label": point["label"],
            }
            for point in points
        ]
        self._desk.start("sides", candidates=candidates)
        return "/compare"

    def _point(self, number: str) -> Mapping[str, Any]:
        job = self._desk.latest("compare")
        points = [] if job is None else job.parts
        if not (number.isascii() and number.isdigit() and int(number) < len(points)):
            raise ParameterError("choose a release of the comparison", "the table lists them")
        point: Mapping[str, Any] = points[int(number)]
        return point

    def _write(self, fields: Mapping[str, str], request: Request) -> str:
        self._desk.write(fields.get("turn", ""), replace=bool(fields.get("replace")))
        return "/decide"

    def _start(self, fields: Mapping[str, str], request: Request) -> str:
        kind = request.path_params["kind"]
        if kind not in ("names", "columns", "risk", "compare", "rehearse", "draft"):
            raise ParameterError("there is no such job", "go back")
        self._desk.start(kind)
        return self._back(fields)

    def _cancel(self, fields: Mapping[str, str], request: Request) -> str:
        self._desk.jobs.cancel(request.path_params["handle"])
        return self._back(fields)

    def _undo(self, fields: Mapping[str, str], request: Request) -> str:
        self._desk.undo()
        return self._back(fields)

    def _redo(self, fields: Mapping[str, str], request: Request) -> str:
        self._desk.redo()
        return self._back(fields)


def _role_of(spec: Mapping[str, Any]) -> str:
    role = str(spec.get("role", ""))
    return f"{role}, sensitive" if role == "target" and spec.get("sensitive") else role


def _of_method(method: str, given: Mapping[str, int | float]) -> dict[str, int | float]:
    """Return those parameters that a method has, with the usual k or epsilon where it needs one."""
    from anonkit.methods import method_parameters

    known = {parameter.name: parameter for parameter in method_parameters(method)}
    known_parameters = {name: value for name, value in given.items() if name in known}
    usual: dict[str, int | float] = {"k": 10, "epsilon": 1}
    return {
        **{name: usual[name] for name in ("k", "epsilon") if name in known and known[name].required},
        **known_parameters,
    }


def _number(name: str, text: str) -> int | float:
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        raise ParameterError(f"{name} is no number", "such as 10, or 0.5") from None
    return int(value) if value.is_integer() else value


def _share(text: str) -> float | None:
    """Return a percentage as a share; None for nothing, and for everything."""
    text = text.strip().rstrip("%").strip()
    if not text:
        return None
    value = float(_number("the share of the population", text))
    return None if value == 100 else value / 100


def _bounds(low: str, high: str) -> list[int | float] | None:
    if not low.strip() and not high.strip():
        return None
    return [_number("the lower bound", low), _number("the upper bound", high)]


def _ladder(text: str) -> list[int | float] | str | None:
    words = [word for word in re.split(r"[,\s]+", text.strip()) if word]
    if words == ["none"]:
        return "none"
    return [_number("a width of the bands", word) for word in words] or None


def _lines(text: str) -> list[str]:
    return list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def _policy_of(page: str) -> str:
    """Return the content security policy of a page of a release: its own style, and nothing that runs or loads."""
    styles = {b64encode(sha256(style.encode()).digest()).decode() for style in _STYLE.findall(page)}
    hashes = " ".join(f"'sha256-{digest}'" for digest in sorted(styles)) or "'none'"
    return f"sandbox; default-src 'none'; style-src {hashes}; img-src data:; base-uri 'none'; frame-ancestors 'none'"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: safe_text(value) if type(value) is str else value,
    )
