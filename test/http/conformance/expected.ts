const CLOSED =
  'nghttp2 drops frames on a stream that is over, as those may have been on their way: no STREAM_CLOSED'
const PRIORITIES = 'nghttp2 no longer reads priorities, which RFC 9113 has taken out'

/**
 * Cases that a bare server of Node fails, too, by h2spec's names. nghttp2 decides in all of them, before code of ours or of
 * Node's sees the frame.
 */
export const EXPECTED: Readonly<Record<string, string>> = {
  'http2/5.1 closed: Sends a DATA frame': CLOSED,
  'http2/5.1 closed: Sends a DATA frame after sending RST_STREAM frame': CLOSED,
  'http2/5.1 closed: Sends a HEADERS frame': CLOSED,
  'http2/5.1 closed: Sends a HEADERS frame after sending RST_STREAM frame': CLOSED,
  'http2/5.1.1 Sends stream identifier that is numerically smaller than previous':
    'nghttp2 takes it for a stream that is over, and drops it',
  'http2/5.3.1 Sends PRIORITY frame that depend on itself': PRIORITIES,
  'http2/6.3 Sends a PRIORITY frame with 0x0 stream identifier': PRIORITIES,
  'http2/6.7 Sends a PING frame with ACK':
    'Node ends the session of a client that acknowledges a PING that was not sent',
  'http2/6.9.1 Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream':
    'Node closes the connection, where the RFC asks for no more than the stream',
}

/** What fails beside these on a port without TLS, at the gateway alone. */
export const EXPECTED_PLAIN: Readonly<Record<string, string>> = {
  'http2/3.5 Sends invalid connection preface':
    'the port speaks HTTP/1.1 as well, and refuses with its 400 what no preface is; h2spec waits for frames or the end',
}
