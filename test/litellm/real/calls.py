"""Calls through the gateway by LiteLLM's SDK, and what LiteLLM's spend log would say of each, as JSON."""

import json
import os

import litellm
from litellm.proxy.utils import hash_token

PROMPT = [{"role": "user", "content": "hi"}]


def spend(key, model, stream):
    answer = litellm.completion(
        model=f"litellm_proxy/{model}",
        api_base=os.environ["BASE"],
        api_key=key,
        messages=PROMPT,
        stream=stream,
        **({"stream_options": {"include_usage": True}} if stream else {}),
    )
    if stream:
        answer = litellm.stream_chunk_builder(list(answer), messages=PROMPT)
    return {
        "api_key": hash_token(key),
        "model": model,
        "prompt_tokens": answer.usage.prompt_tokens,
        "completion_tokens": answer.usage.completion_tokens,
        "spend": litellm.completion_cost(completion_response=answer, model=model),
    }


def refusal(key, model):
    try:
        spend(key, model, False)
    except Exception as error:
        return getattr(error, "status_code", None)


print(
    json.dumps(
        {
            "tokens": {key: hash_token(key) for key in json.loads(os.environ["TOKENS_OF"])},
            "spent": [spend(*call) for call in json.loads(os.environ["CALLS"])],
            "refused": [refusal(*call) for call in json.loads(os.environ["REFUSED"])],
        }
    )
)
