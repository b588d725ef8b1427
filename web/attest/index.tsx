export default function Page() {
  return <p>Not built yet.</p>
}
