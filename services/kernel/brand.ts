declare const brand: unique symbol;

/** A value that only its own constructor makes, so that two kinds of it are never mixed up. */
export type Brand<Value, Name extends string> = Value & { readonly [brand]: Name };
