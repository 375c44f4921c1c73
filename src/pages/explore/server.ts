// What the server has written into the page: the way to its root, and how people sign in.
import type { SignIn } from '../../model/signIn.ts'

const facts = document.querySelector<HTMLElement>('#explore')?.dataset

/** Root of the server that this page came from, under whatever name the browser used. */
export const ROOT = new URL(facts?.root ?? './', location.href.replace(/[?#].*/s, '')).href

/** Null if people do not sign in here. */
export const SIGN_IN: SignIn | null = JSON.parse(facts?.signIn ?? 'null')

/** Name of the service where people sign in: the host of the issuer. */
export const ISSUER_NAME = SIGN_IN === null ? '' : new URL(SIGN_IN.issuer).host

/** Address of the script that reads files. */
export const READER = ROOT + (facts?.reader ?? '')
