import boto3
from steps import *

MODEL = "anthropic.claude-haiku-4-5-20251001-v1:0"
messages = lambda prompt: [{"role": "user", "content": [{"text": prompt}]}]
client = lambda key=KEY: boto3.client("bedrock-runtime", endpoint_url=BASE, region_name="us-east-1", aws_access_key_id=key, aws_secret_access_key=os.environ["SPENT_SECRET" if key == SPENT else "SECRET"])


def chat(key=KEY, model=None, prompt=HI):
    found = client(key).converse(modelId=model or MODEL, messages=messages(prompt))
    return [found["output"]["message"]["content"][0]["text"], found["usage"]["inputTokens"], found["usage"]["outputTokens"]]


def stream(prompt):
    pieces = client().converse_stream(modelId=MODEL, messages=messages(prompt))["stream"]
    return "".join(piece["contentBlockDelta"]["delta"]["text"] for piece in pieces if "contentBlockDelta" in piece)


def tools():
    spec = {"toolSpec": {"name": TOOL["name"], "inputSchema": {"json": SCHEMA}}}
    found = client().converse(modelId=MODEL, messages=messages(CLOCK), toolConfig={"tools": [spec]})
    call = found["output"]["message"]["content"][0]["toolUse"]
    return [call["name"], call["input"]]


def invoke():
    body = json.dumps({"anthropic_version": "bedrock-2023-05-31", "max_tokens": 5, "messages": []})
    return json.loads(client().invoke_model(modelId=MODEL, body=body)["body"].read())["usage"]["output_tokens"]


step("chat", chat)
step("stream", lambda: stream(HI))
step("tools", tools)
step("invoke", invoke)
refusals(chat)
step("hang_up", lambda: stream(BREAK))
