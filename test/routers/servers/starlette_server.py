"""Starlette on uvicorn, vLLM's router. Arguments: port, HTTP parser, WebSocket library or "none"."""

import json
import sys
import uuid
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocketDisconnect

TEXTS = {
    name: json.dumps(answer, separators=(",", ":"))
    for name, answer in json.loads((Path(__file__).parent / "answers.json").read_text()).items()
}
seen = []
served = []


def fill(name, model, id):
    return TEXTS[name].replace('"ID"', json.dumps(id)).replace('"MODEL"', json.dumps(model))


def note(connection, endpoint, model):
    served.append({"probe": connection.headers.get("x-probe", ""), "endpoint": endpoint, "model": model})


def answer(request, name, model, id=None):
    note(request, name, model)
    return Response(fill(name, model, id or str(uuid.uuid4())), media_type="application/json")


def by_body(name):
    async def handle(request):
        try:
            model = json.loads(await request.body()).get("model")
        except (ValueError, AttributeError):
            model = None
        if not isinstance(model, str):
            return JSONResponse({"error": {"message": "no model"}}, status_code=400)
        return answer(request, name, model)

    return handle


async def create_response(request):
    try:
        asked = json.loads(await request.body())
    except ValueError:
        asked = None
    if isinstance(asked, dict) and asked.get("background") is True:
        return queue("queued", asked.get("model"))
    return await by_body("responses")(request)


async def create_batch(request):
    return queue("validating", "")


def queue(name, model):
    """Begins what a fetch tells the usage of."""
    return Response(fill(name, model, str(uuid.uuid4())), media_type="application/json")


async def generate_content(request):
    return answer(request, "generateContent", request.path_params["model"])


async def get_response(request):
    return answer(request, "responses", "llama3.1", request.path_params["id"])


async def get_batch(request):
    return answer(request, "batch", "llama3.1", request.path_params["id"])


def noted(endpoint):
    async def handle(request):
        note(request, endpoint, "")
        return JSONResponse({})

    return handle


async def list_models(request):
    note(request, "models", "")
    return JSONResponse({"object": "list", "data": []})


async def witness(request):
    return JSONResponse({"seen": seen, "served": served})


async def realtime(socket):
    await socket.accept()
    model = socket.query_params.get("model", "llama3.1")
    await socket.send_text(fill("session", model, str(uuid.uuid4())))
    try:
        while True:
            await socket.receive_text()
            note(socket, "realtime", model)
            await socket.send_text(fill("done", model, str(uuid.uuid4())))
    except WebSocketDisconnect:
        pass


class Watch:
    """Keeps the probe of whatever arrives, before it is routed."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        seen.extend(value.decode("latin-1") for name, value in scope.get("headers", []) if name == b"x-probe")
        await self.app(scope, receive, send)


app = Watch(
    Starlette(
        routes=[
            Route("/witness", witness),
            Route("/v1/chat/completions", by_body("chat"), methods=["POST"]),
            Route("/v1/messages", by_body("messages"), methods=["POST"]),
            Route("/v1/responses", create_response, methods=["POST"]),
            Route("/v1/batches", create_batch, methods=["POST"]),
            Route("/v1beta/models/{model}:generateContent", generate_content, methods=["POST"]),
            Route("/v1/realtime/client_secrets", noted("client_secrets"), methods=["POST"]),
            Route("/v1/models/{id}", noted("delete"), methods=["DELETE"]),
            Route("/v1/usage", noted("usage")),
            Route("/v1/batches/{id}", get_batch),
            Route("/v1/models", list_models),
            Route("/v1/responses/{id}", get_response),
            WebSocketRoute("/v1/realtime", realtime),
        ]
    )
)

if __name__ == "__main__":
    port, parser, sockets = sys.argv[1:]
    uvicorn.run(app, host="127.0.0.1", port=int(port), http=parser, ws=sockets, log_level="critical")
