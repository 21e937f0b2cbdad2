"""What LiteLLM's own client and SDK read of a gateway, through the types that LiteLLM has for it, as JSON."""

import json
import os
from urllib.request import Request, urlopen

import litellm
from litellm.proxy._types import LiteLLM_SpendLogs, LiteLLM_UserTable, LiteLLM_VerificationToken, UserInfoResponse
from litellm.proxy.client import Client
from litellm.proxy.client.health import HealthManagementClient
from litellm.proxy.utils import hash_token
from litellm.types.router import Deployment, ModelGroupInfo

BASE, KEY = os.environ["BASE"], os.environ["KEY"]
PROMPT = [{"role": "user", "content": "hi"}]


def get(path):
    with urlopen(Request(BASE + path, headers={"Authorization": f"Bearer {KEY}"})) as answer:
        return json.load(answer)


def call(stream):
    answer = litellm.completion(
        model="litellm_proxy/gpt-4o-mini",
        api_base=BASE,
        api_key=KEY,
        messages=PROMPT,
        stream=stream,
        **({"stream_options": {"include_usage": True}} if stream else {}),
    )
    if stream:
        list(answer)
        return None
    return answer._hidden_params.get("response_cost")


def log(row):
    # Stored as JSON texts, and answered as what they are.
    texts = {name: json.dumps(row[name]) for name in ("metadata", "request_tags")}
    return LiteLLM_SpendLogs(**{**row, **texts})


if os.environ["DO"] == "call":
    print(json.dumps({"costs": [call(False), call(True)]}))
else:
    client = Client(base_url=BASE, api_key=KEY)
    info = client.keys.info(hash_token(KEY))
    key = LiteLLM_VerificationToken(**info["info"])
    user = UserInfoResponse(**get("/user/info"))
    models = [Deployment(**model) for model in client.models.info()]
    groups = [ModelGroupInfo(**group) for group in client.model_groups.info()]
    logs = [log(row) for row in get("/spend/logs")]
    print(
        json.dumps(
            {
                "key": info["key"] == hash_token(KEY),
                "alias": key.key_alias,
                "budget": [key.spend, key.max_budget, key.budget_duration],
                "user": LiteLLM_UserTable(**user.user_info).user_alias,
                "keys": len(user.keys),
                "models": [model.model_name for model in models],
                "found": client.models.get(model_name="gpt-4o-mini")["model_name"],
                "prices": [[group.input_cost_per_token, group.output_cost_per_token] for group in groups],
                "logs": [[row.model, row.prompt_tokens, row.completion_tokens, row.spend] for row in logs],
                "ready": HealthManagementClient(base_url=BASE, api_key=KEY).get_readiness()["status"],
            }
        )
    )
