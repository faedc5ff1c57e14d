declare const brand: unique symbol;

/**
 * A nominal type: only its own constructor makes such values, so that two kinds of the same base type cannot be mixed
 * up.
 */
export type Brand<Value, Name extends string> = Value & { readonly [brand]: Name };
