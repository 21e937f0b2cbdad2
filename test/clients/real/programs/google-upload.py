import os
from google import genai
from google.genai import types

client = genai.Client(api_key=os.environ["KEY"], http_options=types.HttpOptions(base_url=os.environ["BASE"] + "/google"))
with open("upload.txt", "w") as file:
    file.write("bytes of a file")
print(client.files.upload(file="upload.txt", config={"mime_type": "text/plain"}).name)
