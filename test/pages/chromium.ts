import { existsSync } from 'node:fs'
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** The Chromium that `CHROMIUM` names, or the one of the system. @throws Where there is none. */
export function findChromium(): string {
  const found = process.env.CHROMIUM ?? PLACES.find((place) => existsSync(place))
  if (found === undefined) throw new Error('there is no Chromium: install one, or name it in CHROMIUM')
  return found
}

export async function launchChromium(): Promise<Browser> {
  return await chromium.launch({
    executablePath: findChromium(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
  })
}

/** What a page asked for since it was watched, in its order. */
export interface Wire {
  /** URLs of all requests that were begun. */
  readonly urls: string[]
  /** What came over the wire for each that has ended, headers included, and how many were begun by then. */
  readonly answers: { readonly url: string; readonly bytes: number; readonly begun: number }[]
  readonly session: CDPSession
}

/** Watches what goes over the wire. What the browser's cache answers does not count. */
export async function watchWire(page: Page): Promise<Wire> {
  const session = await page.context().newCDPSession(page)
  const wire: Wire = { urls: [], answers: [], session }
  const begun = new Map<string, string>()
  await session.send('Network.enable')
  session.on('Network.requestWillBeSent', ({ requestId, request }) => {
    begun.set(requestId, request.url)
    wire.urls.push(request.url)
  })
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength: bytes }) => {
    wire.answers.push({ url: begun.get(requestId) ?? '', bytes, begun: wire.urls.length })
  })
  return wire
}
