export enum EventKind {
    ATTESTED = "ATTESTED",
    REVOKED = "REVOKED",
}
