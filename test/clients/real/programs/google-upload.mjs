import { GoogleGenAI } from '@google/genai'

const client = new GoogleGenAI({
  apiKey: process.env.KEY,
  httpOptions: { baseUrl: `${process.env.BASE}/google` },
})
const file = new Blob(['bytes of a file'], { type: 'text/plain' })
console.log((await client.files.upload({ file, config: { mimeType: 'text/plain' } })).name)
