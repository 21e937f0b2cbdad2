"""What every program does: each step is announced, and what it had is printed as one line of JSON."""

import json, os, urllib.request

BASE, KEY, SPENT, WRONG = (os.environ[name] for name in ("BASE", "KEY", "SPENT", "WRONG"))
NO_MODEL = "no-such-model"
HI, CLOCK, BREAK = "hi", "What time is it in Paris?", "Please hang up."
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"name": "get_time", "description": "The time of a city", "parameters": SCHEMA}
OPENAI_TOOL = {"type": "function", "function": TOOL}
ASKED = lambda prompt: [{"role": "user", "content": prompt}]


def status_of(error):
    for name in ("status_code", "status", "code", "http_status"):
        value = getattr(error, name, None)
        if isinstance(value, int):
            return value
    return getattr(error, "response", {}).get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(getattr(error, "response", None), dict) else None


def step(name, run):
    urllib.request.urlopen(os.environ["CONTROL"] + "/" + name).read()
    try:
        found = {"result": run()}
    except Exception as error:
        found = {"error": type(error).__name__, "status": status_of(error), "text": str(error)}
    print("STEP " + json.dumps({"step": name, **found}), flush=True)


def refusals(chat):
    """`chat(key, model, prompt)`, refused in three ways."""
    step("wrong_key", lambda: chat(WRONG, None, HI))
    step("no_model", lambda: chat(KEY, NO_MODEL, HI))
    step("spent", lambda: chat(SPENT, None, HI))
