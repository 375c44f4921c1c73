// Claims: what a token says about a person.

/** The claims of a token, as its JSON has them: values of any type. They stay the same object while the token is kept. */
export type Claims = Readonly<Record<string, unknown>>
