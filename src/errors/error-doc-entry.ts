/** What a code means, in an operator's words. */
export interface ErrorDocEntry {
  readonly messageTemplate: string;
  readonly meaning: string;
  readonly causes: string[];
  readonly remedies: string[];
}
