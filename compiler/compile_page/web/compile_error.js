export class CompileError extends Error {
  /**
   * @param {'input' | 'fault' | 'crash' | 'start'} kind
   * @param {string} message
   */
  constructor(kind, message) {
    super(message);
    this.name = 'CompileError';
    this.kind = kind;
  }
}
