import json, sys
from datetime import datetime, timezone
from unittest import mock
from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

def signed(case):
    request = AWSRequest(case["method"], f"https://{case['host']}{case['target']}", headers={"X-Amz-Content-SHA256": case["hash"]}, data=case["body"].encode())
    signer = auth.SigV4Auth(Credentials(case["id"], case["secret"], case["token"]), "bedrock", "us-east-1")
    moment = datetime.strptime(case["time"], "%Y%m%dT%H%M%SZ")
    with mock.patch.object(auth, "get_current_datetime", lambda remove_tzinfo=True: moment, create=True):
        signer.add_auth(request)
    return request.headers["Authorization"]

print(json.dumps([signed(case) for case in json.load(sys.stdin)]))
