import asyncio
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor


def test_thread():
    seen = []
    thread = threading.Thread(target=seen.append, args=(1,))
    thread.start()
    thread.join()
    assert seen == [1]


def test_executor():
    with ThreadPoolExecutor() as pool:
        assert list(pool.map(abs, [-1, 2])) == [1, 2]


def test_event_loop():
    async def answer():
        await asyncio.sleep(0.01)
        return await asyncio.to_thread(lambda: 42)

    assert asyncio.run(answer()) == 42


def test_child():
    done = subprocess.run([sys.executable, "-c", "import shapes; print(shapes.area(2, 2))"],
                          capture_output=True, text=True, check=True)
    assert done.stdout == "4\n"


def test_waits_for_itself():
    lock = threading.Lock()
    with lock:
        lock.acquire()
