// Uploads of Google's that are begun by one call: a client that has the id from its answer may send the bytes.
import type { AnswerHeaders } from '../http/client/answer-handler.ts'

const UPLOAD_PATH = /^\/(?:resumable\/)?upload\//i
const UPLOAD_ID = /[?&]upload_id=([^&#]+)/i
const ADDRESSES = ['x-goog-upload-url', 'x-goog-upload-control-url', 'location'] as const

/** Whether files are sent to a canonical path as Google takes them. */
export function isUploadPath(canonicalPath: string): boolean {
  return UPLOAD_PATH.test(canonicalPath)
}

/** The uploads that an answer begins, by the addresses in its headers. */
export function uploadIdsIn(headers: AnswerHeaders): readonly string[] {
  return ADDRESSES.flatMap((name) => {
    const written = UPLOAD_ID.exec(String(headers[name] ?? ''))?.[1]
    return written === undefined ? [] : [decoded(written)]
  })
}

function decoded(text: string): string {
  return new URLSearchParams(`id=${text}`).get('id') ?? text
}
