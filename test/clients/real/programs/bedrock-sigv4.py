import json, os, boto3
from anthropic import AnthropicBedrock
from botocore.config import Config
from botocore.exceptions import ClientError

BASE, ID, SECRET = os.environ["BASE"], os.environ["SIGNING_ID"], os.environ["SIGNING_SECRET"]
MODEL = "anthropic.claude-haiku-4-5-20251001-v1:0"
ARN = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0"
MESSAGES = [{"role": "user", "content": [{"text": "hi"}]}]


def client(secret=SECRET):
    return boto3.client("bedrock-runtime", endpoint_url=BASE, region_name="us-east-1", aws_access_key_id=ID,
                        aws_secret_access_key=secret, config=Config(retries={"max_attempts": 1}))


found = {"converse": client().converse(modelId=MODEL, messages=MESSAGES)["usage"]["outputTokens"]}
found["arn"] = client().converse(modelId=ARN, messages=MESSAGES)["usage"]["outputTokens"]
found["stream"] = [e["metadata"]["usage"]["outputTokens"] for e in client().converse_stream(modelId=MODEL, messages=MESSAGES)["stream"] if "metadata" in e][0]
body = json.dumps({"anthropic_version": "bedrock-2023-05-31", "max_tokens": 5, "messages": []})
found["invoke"] = json.loads(client().invoke_model(modelId=MODEL, body=body)["body"].read())["usage"]["output_tokens"]
bedrock = AnthropicBedrock(aws_access_key=ID, aws_secret_key=SECRET, aws_region="us-east-1", base_url=BASE, max_retries=0)
found["anthropic"] = bedrock.messages.create(model=MODEL, max_tokens=5, messages=[{"role": "user", "content": "hi"}]).usage.output_tokens
try:
    client("another secret").converse(modelId=MODEL, messages=MESSAGES)
except ClientError as error:
    found["refused"] = error.response["Error"]["Code"]
print(json.dumps(found))
