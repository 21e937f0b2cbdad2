import { signal } from '@preact/signals'
import { type ComponentChildren, type ComponentType, render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { linkTo } from './address.ts'
import type { Api } from './api.ts'
import { Asker, NotSignedIn, sentenceOf } from './asker.ts'
import { address, ToolsFor } from './context.tsx'

/** A view of a page. Its name is in the address. */
export interface View {
  readonly name: string
  readonly title: string
  readonly content: ComponentType
  /** Absent: always. */
  readonly isShown?: () => boolean
}

interface SignInWords {
  readonly title: string
  /** The label of the secret. */
  readonly secret: string
  readonly note: ComponentChildren
  /** Another way to sign in. */
  readonly link: ComponentChildren
  /** What is said of a wrong one. */
  readonly wrong: string
  /** Whether a browser may keep it. */
  readonly autocomplete: 'current-password' | 'off'
}

interface PageOptions {
  readonly brand: ComponentChildren
  readonly api: Api
  /** The first is shown where the address names none. */
  readonly views: readonly View[]
  readonly words: SignInWords
  /** Takes the secret; a page without it keeps the secret itself as the token. */
  readonly signIn?: (secret: string) => Promise<void>
  readonly signOut?: () => Promise<void>
}

/**
 * Draws a page of views behind a sign-in, for as long as it is open.
 *
 * @returns what shows the views once a token is there by another way
 */
export function openPage(options: PageOptions): { enter(): void } {
  const { api } = options
  const isSignedIn = signal(api.hasToken)
  const problem = signal('')
  const signOut = (said: string) => {
    api.keepToken(null)
    problem.value = said
    isSignedIn.value = false
  }
  const asker = new Asker({
    ask: (url) => api.read(url),
    refused: () => signOut(options.words.wrong),
    isSeen: () => !document.hidden,
  })
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) asker.wake()
  })
  async function signIn(secret: string): Promise<void> {
    problem.value = ''
    try {
      if (options.signIn === undefined) api.keepToken(secret)
      else await options.signIn(secret)
      isSignedIn.value = true
    } catch (error) {
      problem.value = error instanceof NotSignedIn ? options.words.wrong : sentenceOf(error)
    }
  }
  async function leave(): Promise<void> {
    await options.signOut?.()
    signOut('')
  }
  const Root = () => (
    <ToolsFor tools={{ api, asker }}>
      <header class="bar">
        <a class="brand" href={linkTo(options.views[0]?.name ?? '')}>
          <Logo />
          {options.brand}
        </a>
        <span class="quiet">days and times are UTC</span>
        {isSignedIn.value && (
          <button type="button" class="plain" onClick={() => void leave()}>
            Sign out
          </button>
        )}
      </header>
      {isSignedIn.value ? (
        <Views views={options.views} />
      ) : (
        <main>
          <SignIn words={options.words} problem={problem.value} onSignIn={signIn} />
        </main>
      )}
    </ToolsFor>
  )
  const root = document.getElementById('page')
  if (root === null) throw new Error('the document has no place for the page')
  render(<Root />, root)
  return {
    enter() {
      isSignedIn.value = true
      asker.wake()
    },
  }
}

/** In the page itself, as the picture of its tab would come as one more request before the first figures. */
function Logo() {
  return (
    <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#4a55c9" />
      <path d="M9 8v16M14 8v16M19 8v16M24 8v16M6 21 27 11" stroke="#fff" stroke-width="2.4" />
    </svg>
  )
}

function Views({ views: all }: { readonly views: readonly View[] }) {
  const views = all.filter(({ isShown }) => isShown?.() !== false)
  const view = views.find(({ name }) => name === address.value.view) ?? views[0]
  if (view === undefined) return null
  document.title = view.title
  const Content = view.content
  return (
    <>
      {views.length > 1 && (
        <nav aria-label="Views">
          {views.map(({ name, title }) => (
            <a key={name} href={linkTo(name)} aria-current={name === view.name ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
      )}
      <main>
        <h1 class="unseen">{view.title}</h1>
        <div class="figures">
          <Content key={view.name} />
        </div>
      </main>
    </>
  )
}

interface SignInProps {
  readonly words: SignInWords
  readonly problem: string
  readonly onSignIn: (secret: string) => Promise<void>
}

function SignIn({ words, problem, onSignIn }: SignInProps) {
  const [secret, setSecret] = useState('')
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.focus(), [])
  return (
    <form
      class="card sign-in"
      onSubmit={(event) => {
        event.preventDefault()
        setSecret('')
        void onSignIn(secret.trim())
      }}
    >
      <h1>{words.title}</h1>
      {words.link}
      <label class="field">
        <span>{words.secret}</span>
        <input
          ref={input}
          type="password"
          value={secret}
          onInput={({ currentTarget }) => setSecret(currentTarget.value)}
          autocomplete={words.autocomplete}
          spellcheck={false}
          required
        />
      </label>
      <p class="quiet">{words.note}</p>
      {problem !== '' && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="submit" class="main">
        Sign in
      </button>
    </form>
  )
}
