import {Entity as Entity_, Column as Column_, PrimaryColumn as PrimaryColumn_, Index as Index_, StringColumn as StringColumn_, DateTimeColumn as DateTimeColumn_, FloatColumn as FloatColumn_, BooleanColumn as BooleanColumn_, JSONColumn as JSONColumn_, BigIntColumn as BigIntColumn_, IntColumn as IntColumn_} from "@subsquid/typeorm-store"

/**
 * One row an attestation of a location schema whose payload could be read
 */
@Index_(["timestamp", "id"], {unique: false})
@Index_(["chain", "timestamp"], {unique: false})
@Index_(["prover", "timestamp"], {unique: false})
@Index_(["subject", "timestamp"], {unique: false})
@Index_(["schemaUid", "timestamp"], {unique: false})
@Index_(["eventTimestamp", "id"], {unique: false})
@Entity_()
export class LocationRecord {
    constructor(props?: Partial<LocationRecord>) {
        Object.assign(this, props)
    }

    /**
     * <chain>-<uid>
     */
    @PrimaryColumn_()
    id!: string

    @Index_()
    @StringColumn_({nullable: false})
    uid!: string

    @StringColumn_({nullable: false})
    chain!: string

    /**
     * lower-case; the attester
     */
    @StringColumn_({nullable: false})
    prover!: string

    /**
     * lower-case; the recipient
     */
    @StringColumn_({nullable: false})
    subject!: string

    @DateTimeColumn_({nullable: false})
    timestamp!: Date

    @DateTimeColumn_({nullable: false})
    eventTimestamp!: Date

    @StringColumn_({nullable: false})
    srs!: string

    @StringColumn_({nullable: false})
    locationType!: string

    /**
     * As attested
     */
    @StringColumn_({nullable: false})
    location!: string

    @FloatColumn_({nullable: true})
    longitude!: number | undefined | null

    @FloatColumn_({nullable: true})
    latitude!: number | undefined | null

    @StringColumn_({array: true, nullable: false})
    recipeTypes!: (string)[]

    /**
     * base64
     */
    @StringColumn_({array: true, nullable: false})
    recipePayloads!: (string)[]

    @StringColumn_({array: true, nullable: false})
    mediaTypes!: (string)[]

    @StringColumn_({array: true, nullable: false})
    mediaData!: (string)[]

    @StringColumn_({nullable: false})
    memo!: string

    @BooleanColumn_({nullable: false})
    revoked!: boolean

    @DateTimeColumn_({nullable: false})
    createdAt!: Date

    @DateTimeColumn_({nullable: false})
    updatedAt!: Date

    /**
     * Our reading of location: a GeoJSON geometry as text; null where it cannot be read for certain
     */
    @StringColumn_({nullable: true})
    geometry!: string | undefined | null

    /**
     * Why there is no geometry, and why an attested event time is not used; else null
     */
    @StringColumn_({nullable: true})
    problem!: string | undefined | null

    /**
     * Fields of the payload that have no column, by name; null where its schema has none
     */
    @JSONColumn_({nullable: true})
    attributes!: unknown | undefined | null

    /**
     * Geodesic area of a polygon; null for other types, and where the kernel refuses it
     */
    @BigIntColumn_({nullable: true})
    areaSquareCentimeters!: bigint | undefined | null

    /**
     * Geodesic length of a line; null for other types, and where the kernel refuses it
     */
    @BigIntColumn_({nullable: true})
    lengthCentimeters!: bigint | undefined | null

    @StringColumn_({nullable: false})
    schemaUid!: string

    @StringColumn_({nullable: false})
    refUid!: string

    @BooleanColumn_({nullable: false})
    revocable!: boolean

    /**
     * Unix seconds; 0 = never
     */
    @BigIntColumn_({nullable: false})
    expirationTime!: bigint

    @DateTimeColumn_({nullable: true})
    revocationTime!: Date | undefined | null

    @IntColumn_({nullable: false})
    blockNumber!: number

    @StringColumn_({nullable: false})
    blockHash!: string

    @StringColumn_({nullable: false})
    transactionHash!: string

    @IntColumn_({nullable: false})
    logIndex!: number
}
