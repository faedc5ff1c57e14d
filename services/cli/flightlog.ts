import { operatorText } from '../config/operator-errors.js';
import { program } from './program.js';

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`${operatorText(error)}\n`);
  process.exit(1);
}
