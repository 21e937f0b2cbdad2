import shutil, subprocess, sys
from importlib.util import find_spec
from pathlib import Path
from steps import *

FAMILY = os.environ["FAMILY"]
ENV = {"openai": ("OPENAI_API_BASE", "OPENAI_API_KEY", "openai/gpt-4o-mini", "/v1"), "anthropic": ("ANTHROPIC_API_BASE", "ANTHROPIC_API_KEY", "anthropic/claude-haiku-4-5", "")}[FAMILY]


class Exit(Exception):
    pass


def chat(key=KEY, model=None, prompt=HI):
    url, name, known, path = ENV
    env = {**os.environ, url: BASE + path, name: key, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    options = "--no-git --yes-always --no-show-model-warnings --no-check-update --no-analytics --no-pretty --no-stream --no-gitignore --map-tokens 0 --no-detect-urls --no-show-release-notes --no-suggest-shell-commands --timeout 20".split()
    asked = known if model is None else known.split("/")[0] + "/" + model
    # It tries a spent budget again for 64 s and ends by itself. A limit here would be an error of its own, and of some layouts alone.
    run = subprocess.run([sys.executable, "-m", "aider", "--model", asked, "--weak-model", asked, "--message", prompt, *options], env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    said = run.stdout + run.stderr
    if "Hello there." in said:
        return "Hello there."
    raise Exit(" ".join(line.strip() for line in said.splitlines() if "rror" in line)[:600] or said[-600:])


# It keeps the list of models that it asks GitHub for; without one each start waits, and says that it could not ask.
caches = Path.home() / ".aider/caches"
caches.mkdir(parents=True)
shutil.copy(Path(find_spec("litellm").origin).parent / "model_prices_and_context_window_backup.json", caches / "model_prices_and_context_window.json")

step("chat", chat)
refusals(chat)
