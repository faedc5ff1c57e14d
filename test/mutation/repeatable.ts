import fc from 'fast-check';

// Every run of the properties generates the same cases, so that mutants are comparable. A failing case is not shrunk,
// because shrinking would take most of the time.
fc.configureGlobal({ seed: 20_261_124, endOnFailure: true });
