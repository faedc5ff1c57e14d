/** Resolves when the caller has memory for a number of bytes. */
export type ReserveMemory = (bytes: number) => Promise<void>;

/** Inputs and outputs that engines have stored themselves, and that they report by address. */
export interface EngineData {
  /**
   * Reads the object at an address, such as `s3://bucket/key`, once there is memory for it.
   *
   * @returns the bytes; `undefined` for an address outside the configured stores, which is not requested.
   * @throws {EngineDataUnusable} when there is no such object, or it is too large.
   * @throws {StoreUnavailable} when it could not be read.
   */
  read(address: string, reserveMemory: ReserveMemory): Promise<Uint8Array | undefined>;

  close(): Promise<void>;
}
