// Facts that the server has written into the page: the address of its root, how people sign in, and the script that reads files.
import type { SignIn } from '../../model/signIn.ts'

const facts = document.querySelector<HTMLElement>('#explore')?.dataset

/** Address of the root of the server, with the host name that the browser used. */
export const ROOT = new URL(facts?.root ?? './', location.href.replace(/[?#].*/s, '')).href

/** Settings for the sign-in of people; null if people cannot sign in at this server. */
export const SIGN_IN: SignIn | null = JSON.parse(facts?.signIn ?? 'null')

/** Name of the service where people sign in: the host of the issuer. */
export const ISSUER_NAME = SIGN_IN === null ? '' : new URL(SIGN_IN.issuer).host

/** Address of the script that reads the files of an import. */
export const READER = ROOT + (facts?.reader ?? '')
