import io
from google import genai
from google.genai import types
from steps import *

MODEL = "gemini-2.5-flash"
client = lambda key=KEY: genai.Client(api_key=key, http_options=types.HttpOptions(base_url=BASE))


def chat(key=KEY, model=None, prompt=HI):
    one = client(key)
    found = one.models.generate_content(model=model or MODEL, contents=prompt)
    return [found.text, found.usage_metadata.prompt_token_count, found.usage_metadata.candidates_token_count]


def stream(prompt):
    one = client()
    return "".join(piece.text or "" for piece in one.models.generate_content_stream(model=MODEL, contents=prompt))


def tools():
    one = client()
    declared = types.Tool(function_declarations=[types.FunctionDeclaration(name=TOOL["name"], description=TOOL["description"], parameters_json_schema=SCHEMA)])
    off = types.AutomaticFunctionCallingConfig(disable=True)
    found = one.models.generate_content(model=MODEL, contents=CLOCK, config=types.GenerateContentConfig(tools=[declared], automatic_function_calling=off))
    return [found.function_calls[0].name, found.function_calls[0].args]


def embeddings():
    one = client()
    return one.models.embed_content(model="gemini-embedding-001", contents="a").embeddings[0].values


def models():
    one = client()
    return "models/" + MODEL in [model.name for model in one.models.list()]


def count():
    one = client()
    return one.models.count_tokens(model=MODEL, contents=HI).total_tokens


def files():
    one = client()
    made = one.files.upload(file=io.BytesIO(b"bytes of a file"), config={"mime_type": "text/plain"})
    return [one.files.get(name=made.name).mime_type, one.files.delete(name=made.name) is not None]


step("chat", chat)
step("stream", lambda: stream(HI))
step("tools", tools)
step("embeddings", embeddings)
step("count_tokens", count)
step("models", models)
refusals(chat)
step("hang_up", lambda: stream(BREAK))
step("files", files)
