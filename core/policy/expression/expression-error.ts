/** What is wrong with an expression, and where: the offset of a character in its text. Completes "1:14: …". */
export class ExpressionError extends SyntaxError {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.name = 'ExpressionError';
    this.at = at;
  }
}

/** `1:14: …`: line and column, from 1. */
export function describeError({ message, at }: ExpressionError, text: string): string {
  const before = text.slice(0, at).split('\n');
  return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}: ${message}`;
}

/** Why an expression has no value for an operation. The operation is refused. */
export class EvaluationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'EvaluationError';
  }
}
